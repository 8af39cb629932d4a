package listen

import (
	"encoding/json"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// maxTaskIDs bounds the tasks of one stream. Each id that turns out to be unknown costs a request to the API server. A
// client that follows more opens several streams.
const maxTaskIDs = 256

// filter is what a client wants to hear of.
type filter struct {
	// tools: changes of its list of tools.
	tools bool
	// tasks: changes of tasks, be it of none at all.
	tasks bool
	// taskIDs are the tasks, each once, in the client's order.
	taskIDs []string
}

// parseFilter reads params.notifications. Members that the specification does not know are ignored; those it knows must have
// the right type, also where they ask for something that is not offered here.
func parseFilter(raw json.RawMessage) (filter, *wire.Error) {
	if raw == nil {
		return filter{}, wire.InvalidParams("params.notifications is required: it says what to listen to")
	}
	if !wire.IsObject(raw) {
		return filter{}, wire.InvalidParams("params.notifications must be an object")
	}
	var tools, prompts, resources, uris, taskIDs json.RawMessage
	err := wire.ReadMembers(raw,
		wire.Member{Name: "toolsListChanged", Value: &tools}, wire.Member{Name: "promptsListChanged", Value: &prompts},
		wire.Member{Name: "resourcesListChanged", Value: &resources},
		wire.Member{Name: "resourceSubscriptions", Value: &uris}, wire.Member{Name: "taskIds", Value: &taskIDs})
	if err != nil {
		return filter{}, wire.InvalidParams("params.notifications is malformed, or has a member twice")
	}
	var wanted filter
	for _, member := range []struct {
		name  string
		value json.RawMessage
		ok    bool
	}{
		{"toolsListChanged", tools, readBool(tools, &wanted.tools)},
		{"promptsListChanged", prompts, readBool(prompts, new(bool))},
		{"resourcesListChanged", resources, readBool(resources, new(bool))},
	} {
		if !member.ok {
			return filter{}, wire.InvalidParams("params.notifications.%s must be a boolean", member.name)
		}
	}
	if _, ok := readStrings(uris); !ok {
		return filter{}, wire.InvalidParams("params.notifications.resourceSubscriptions must be an array of strings")
	}
	ids, ok := readStrings(taskIDs)
	if !ok {
		return filter{}, wire.InvalidParams("params.notifications.taskIds must be an array of strings")
	}
	wanted.tasks = taskIDs != nil
	wanted.taskIDs = unique(ids)
	if len(wanted.taskIDs) > maxTaskIDs {
		return filter{}, wire.InvalidParams(
			"params.notifications.taskIds has more than %d ids; listen to the others by further requests", maxTaskIDs)
	}
	return wanted, nil
}

// readBool reads an optional boolean.
func readBool(raw json.RawMessage, value *bool) (ok bool) {
	switch string(raw) {
	case "", "false":
	case "true":
		*value = true
	default:
		return false
	}
	return true
}

// readStrings reads an optional array of strings.
func readStrings(raw json.RawMessage) (values []string, ok bool) {
	if raw == nil {
		return nil, true
	}
	var elements []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &elements) != nil {
		return nil, false
	}
	values = make([]string, len(elements))
	for i, element := range elements {
		if values[i], ok = wire.String(element); !ok {
			return nil, false
		}
	}
	return values, true
}

// unique returns the values without repetitions.
func unique(values []string) []string {
	seen := make(map[string]bool, len(values))
	kept := values[:0]
	for _, value := range values {
		if !seen[value] {
			seen[value] = true
			kept = append(kept, value)
		}
	}
	return kept
}
