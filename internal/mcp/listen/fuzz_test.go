package listen

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzFilter hands any filter to the parser. What it accepts is what another reader reads, each task once, and not too many of
// them.
func FuzzFilter(f *testing.F) {
	f.Add([]byte(`{"toolsListChanged":true,"taskIds":["a","b","a","\u00e4"]}`))
	f.Add([]byte(`{"taskIds":[],"resourceSubscriptions":["x"],"other":[null]}`))
	f.Add([]byte(` {"taskIds" : [ "\ud800" ]}`))
	f.Add([]byte("{\"taskIds\":[\"\xb1\"]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the envelope's parser lets no others through
		}
		got, refused := parseFilter(raw)
		if refused != nil {
			return
		}
		var sent map[string]json.RawMessage // whose names are those of JSON, unlike a struct's
		var ids []string
		if err := json.Unmarshal(raw, &sent); err != nil {
			t.Fatalf("%q is read as %+v, and otherwise not at all: %v", raw, got, err)
		}
		if list, ok := sent["taskIds"]; ok && json.Unmarshal(list, &ids) != nil {
			t.Fatalf("the tasks of %q are read as %q, and otherwise not at all", raw, got.taskIDs)
		}
		switch {
		case got.tools != (string(sent["toolsListChanged"]) == "true") || got.tasks != (ids != nil) || len(got.taskIDs) > maxTaskIDs:
			t.Fatalf("%q is read as %+v", raw, got)
		case !slices.Equal(got.taskIDs, unique(ids)):
			t.Fatalf("the tasks of %q are read as %q", raw, got.taskIDs)
		}
		for i, id := range got.taskIDs {
			if slices.Contains(got.taskIDs[:i], id) {
				t.Fatalf("task %q is there twice", id)
			}
		}
	})
}
