package world

import (
	"encoding/json"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/plugins/tools/dataop"
)

// DataWrites gives the record writes of a plugin.data proposal of any kind; none for other proposals. live gives the value
// of a record as the writes before it left it: operations are applied to that. A write that breaks a rule fails the whole
// proposal.
func DataWrites(p sdk.Proposal, live func(namespace, key string) json.RawMessage) ([]sdk.PluginDataWrite, error) {
	switch p.Type {
	case sdk.PluginDataWrite{}.ProposalType():
		var w sdk.PluginDataWrite
		if _, err := ReadPayload(p.Payload, &w); err != nil {
			return nil, err
		}
		return []sdk.PluginDataWrite{w}, CheckDataWrite(w)
	case sdk.PluginDataBatch{}.ProposalType():
		var batch sdk.PluginDataBatch
		if _, err := ReadPayload(p.Payload, &batch); err != nil {
			return nil, err
		}
		if len(batch.Items) == 0 {
			return nil, reject("items must not be empty")
		}
		for _, w := range batch.Items {
			if err := CheckDataWrite(w); err != nil {
				return nil, err
			}
		}
		return batch.Items, nil
	case sdk.PluginDataDelete{}.ProposalType():
		var d sdk.PluginDataDelete
		if _, err := ReadPayload(p.Payload, &d); err != nil {
			return nil, err
		}
		return []sdk.PluginDataWrite{{Namespace: d.Namespace, Key: d.Key}}, checkKey(d.Namespace, d.Key)
	case sdk.PluginDataUpdate{}.ProposalType():
		var u sdk.PluginDataUpdate
		if _, err := ReadPayload(p.Payload, &u); err != nil {
			return nil, err
		}
		if err := checkKey(u.Namespace, u.Key); err != nil {
			return nil, err
		}
		w, err := updated(u, live)
		var failed *dataop.Error
		if errors.As(err, &failed) {
			return nil, &Rejection{failed.Code, u.Namespace + "/" + u.Key + ": " + failed.Error()}
		}
		return []sdk.PluginDataWrite{w}, err
	}
	return nil, nil
}

// updated gives the whole-value write that operations come to on the live value. An operation that fails is a
// *dataop.Error.
func updated(u sdk.PluginDataUpdate, live func(namespace, key string) json.RawMessage) (sdk.PluginDataWrite, error) {
	w := sdk.PluginDataWrite{Namespace: u.Namespace, Key: u.Key}
	value, err := dataop.Apply(live(u.Namespace, u.Key), u.Ops)
	if err != nil {
		return w, err
	}
	if value == nil {
		return w, nil
	}
	w.Value = value
	return w, CheckDataWrite(w)
}

// CheckDataWrite holds a write against the rules for every writer (reference: plugins.md §13.2). The value null removes the
// record; to leave it out is a mistake.
func CheckDataWrite(w sdk.PluginDataWrite) error {
	if err := checkKey(w.Namespace, w.Key); err != nil {
		return err
	}
	switch {
	case len(w.Value) == 0:
		return reject("value of %s/%s is missing; null removes a record", w.Namespace, w.Key)
	case len(w.Value) > tools.MaxDataBytes:
		return reject("value of %s/%s has %d bytes, the limit is %d: split it or keep less", w.Namespace, w.Key, len(w.Value), tools.MaxDataBytes)
	case !json.Valid(w.Value):
		return reject("value of %s/%s is not JSON", w.Namespace, w.Key)
	}
	return checkNumbers("value of "+w.Namespace+"/"+w.Key, w.Value)
}

func checkKey(namespace, key string) error {
	if err := tools.CheckDataKey(namespace, key); err != nil {
		var known *sdk.ToolError
		if errors.As(err, &known) {
			return reject("%s", known.Message)
		}
		return err
	}
	if strings.ContainsRune(namespace, 0) || strings.ContainsRune(key, 0) {
		return reject("plugin data namespace and key must not contain U+0000")
	}
	return nil
}
