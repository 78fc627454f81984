package tools

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func delegating(answer func(sdk.AgentRequest) (Delegated, error), args string) Call {
	return Call{
		Name: Delegate, Arguments: args, Authorised: []string{Delegate},
		Delegate: func(_ context.Context, ask sdk.AgentRequest) (Delegated, error) { return answer(ask) },
	}
}

const askScene = `{"target":{"contract":"look.scene@1"},"brief":"谁？","data":{"at":"鼓楼"},"maxSteps":2}`

// Rule TL:717: success is {data: output}, with staged when the delegation staged operations; the model's view is projected,
// and code gets what the caller keeps.
func TestDelegateSuccess(t *testing.T) {
	var asked sdk.AgentRequest
	r := run(t, delegating(func(ask sdk.AgentRequest) (Delegated, error) {
		asked = ask
		return Delegated{Output: json.RawMessage(`{"who":["老更夫"],"sceneId":"3b241101-e2bb-4255-8caf-4136c566a962"}`), Kept: json.RawMessage(`{"who":["老更夫"]}`), Staged: []string{"plugin.data", "plugin.data", "character.upsert"}}, nil
	}, askScene))
	if asked.Target.Contract != "look.scene@1" || asked.Brief != "谁？" || string(asked.Data) != `{"at":"鼓楼"}` || asked.MaxSteps != 2 {
		t.Errorf("asked %+v", asked)
	}
	want := `{"data":{"who":["老更夫"]},"staged":{"count":3,"kinds":["plugin.data","character.upsert"],"notice":"Staged: it takes effect when the turn ends and may still be rejected."}}`
	if r.Err != nil || r.Envelope != want || string(r.Content) != `{"who":["老更夫"]}` {
		t.Errorf("%v %s %s", r.Err, r.Envelope, r.Content)
	}
	private := run(t, delegating(func(sdk.AgentRequest) (Delegated, error) {
		return Delegated{Output: json.RawMessage(`"密"`)}, nil
	}, askScene))
	if private.Envelope != `{"data":"密"}` || string(private.Content) != "null" {
		t.Errorf("%s %s", private.Envelope, private.Content)
	}
}

// Rule TL:776: every failure of delegate but invalid-input is refused: it is no failure of the run that asked.
func TestDelegateFailures(t *testing.T) {
	for _, code := range sdk.ToolErrorCodes {
		r := run(t, delegating(func(sdk.AgentRequest) (Delegated, error) { return Delegated{}, sdk.Fail(code, "不行") }, askScene))
		if r.Err == nil || r.Err.Code != code || r.Refused != (code != sdk.InvalidInput) {
			t.Errorf("%s: %v refused %v", code, r.Err, r.Refused)
		}
	}
	if r := run(t, delegating(nil, `{"target":{"contract":"a@1"}}`)); r.Err == nil || r.Err.Code != sdk.InvalidInput || r.Refused {
		t.Errorf("without a brief: %v", r.Err)
	}
	one := delegating(nil, askScene)
	one.Delegate = nil
	if r := run(t, one); r.Err == nil || r.Err.Code != sdk.Unavailable {
		t.Errorf("where nobody can start one: %v", r.Err)
	}
	one.Authorised = nil
	if r := run(t, one); r.Err == nil || r.Err.Code != sdk.Unavailable || r.Refused {
		t.Errorf("undeclared: %v", r.Err)
	}
}

// Rule TL:724: delegate stages writes, is not idempotent and not safe beside others.
func TestDelegateAnnotations(t *testing.T) {
	a := delegate.Annotations
	if a.ReadOnly || a.StagesWrites == nil || !*a.StagesWrites || a.Idempotent || a.ConcurrencySafe {
		t.Errorf("%+v", a)
	}
}
