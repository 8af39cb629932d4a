package wire

import (
	"encoding/json"
	"testing"
)

func TestWithServerChangesNoValue(t *testing.T) {
	got, err := WithServer(json.RawMessage(`{"content":[{"type":"text","text":"<&>"}],"structuredContent":{"id":9007199254740993},
		"_meta":{"own":1},"resultType":"complete"}`), Server{Name: "n", Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"},"own":1},` +
		`"content":[{"type":"text","text":"<&>"}],"resultType":"complete","structuredContent":{"id":9007199254740993}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWithServerRefusesWhatIsNoObject(t *testing.T) {
	for _, stored := range []string{``, `[]`, `"x"`} {
		if got, err := WithServer(json.RawMessage(stored), Server{}); err == nil {
			t.Errorf("%q became %s", stored, got)
		}
	}
}

func TestDiscoverIsWhatClientsCheckFor_S60_T1_T2(t *testing.T) {
	got, err := Marshal(Discover(Server{Name: "n", Version: "v"}, "Say hello.", true))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},` +
		`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
		`"capabilities":{"tools":{"listChanged":true},"resources":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
		`"instructions":"Say hello.","ttlMs":3600000,"cacheScope":"public"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEmptyListIsAnArray(t *testing.T) {
	got, err := Marshal(ListTools(Server{Name: "n", Version: "v"}, nil, ""))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}},` +
		`"tools":[],"ttlMs":30000,"cacheScope":"private"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestErrorData_S23_S44(t *testing.T) {
	for want, err := range map[string]*Error{
		`{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`: MissingTasksCapability(),
		`{"requested":"v999.0.0","supported":["2026-07-28"]}`:                          UnsupportedVersion("v999.0.0"),
		`{"reason":"QuotaExceeded"}`:                                                   Internal("QuotaExceeded", "x"),
	} {
		got, marshalError := Marshal(err.Data)
		if marshalError != nil || string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
