package play

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Rule TP:320: explicit choices made when enabling and disabling are saved in session.metadata.pluginSelection.
// Plugins of a session over HTTP: chosen when it is created, enabled and excluded later on by its owner, and told to whoever
// follows it.
func TestPluginsOverHTTP(t *testing.T) {
	s := open(t, game())
	create := func(body string, status int, code string) map[string]any {
		t.Helper()
		got, reply := s.call("POST", "/api/sessions", body)
		if have, _ := reply["code"].(string); got != status || have != code {
			t.Fatalf("%s: %d %v", body, got, reply)
		}
		return reply
	}
	chosen := func(session map[string]any) string {
		return fmt.Sprint(session["metadata"].(map[string]any)["pluginSelection"])
	}
	for body, field := range map[string]string{
		`{"worldId":"low-water","plugins":["Narrator"]}`:                         "plugins",
		`{"worldId":"low-water","plugins":["../x"]}`:                             "plugins",
		`{"worldId":"low-water","excludedPlugins":["guide","guide"]}`:            "excludedPlugins",
		`{"worldId":"low-water","plugins":["` + strings.Repeat("龙", 300) + `"]}`: "plugins",
	} {
		if got := fields(create(body, 400, "invalid_action_request")); got != field {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := fields(create(`{"worldId":"low-water","plugins":["ghost","narrator"]}`, 409, "plugin_rejected")); got != "plugins.ghost" {
		t.Error(got)
	}
	session := create(`{"worldId":"low-water","locale":"zh-CN","excludedPlugins":["guide"]}`, 201, "")
	if got := chosen(session); got != "map[excluded:[guide] requested:[]]" || strings.Contains(fmt.Sprint(session["activePlugins"]), "guide") {
		t.Errorf("%s %v", got, session["activePlugins"])
	}
	a := asked{site: s, id: session["id"].(string)}
	a.want("PUT", "/plugins/ghost", "", http.StatusNotFound, "plugin_not_found")
	a.want("PUT", "/plugins/Ghost", "", http.StatusBadRequest, "invalid_action_request")
	if got := a.want("PUT", "/plugins/guide", "", 200, ""); !strings.Contains(fmt.Sprint(got["activePluginIds"]), "guide") {
		t.Errorf("%v", got)
	}
	before := s.version(a.id)
	a.want("PUT", "/plugins/guide", "", 200, "")
	if s.version(a.id) != before {
		t.Error("what is so already was written")
	}
	// The narrator goes, and with it who cannot do without a story.
	if got := fmt.Sprint(a.want("DELETE", "/plugins/narrator", "", 200, "")["activePluginIds"]); strings.Contains(got, "narrator") || strings.Contains(got, "guide") {
		t.Errorf("%v", got)
	}
	if got := chosen(a.want("GET", "", "", 200, "")); got != "map[excluded:[narrator] requested:[guide]]" {
		t.Error(got)
	}
	seat := a.want("POST", "/seats", `{"name":"二号"}`, 201, "")
	token := a.want("POST", "/seats/take", fmt.Sprintf(`{"invite":%q}`, seat["invite"]), 200, "")["seatToken"].(string)
	a.as(token).want("PUT", "/plugins/narrator", "", http.StatusForbidden, "owner_required")
	a.as(token).want("DELETE", "/plugins/guide", "", http.StatusForbidden, "owner_required")
	a.want("PATCH", "", `{"status":"ended"}`, 200, "")
	a.want("PUT", "/plugins/narrator", "", http.StatusConflict, "session_ended")
}
