package wire

import "encoding/json"

const resultInputRequired = "input_required"

// InputRequired is the header of the answer to a tools/call that cannot go on before the client has answered questions (multi
// round-trip requests), and of nothing else.
func (s Server) InputRequired() ResultHeader { return ResultHeader{resultInputRequired, ResultMeta{s}} }

// declaresForms reports whether the capability elicitation allows to ask by forms: without any mode it means that of forms
// (client/elicitation, "Capabilities").
func declaresForms(elicitation json.RawMessage) bool {
	var form, url json.RawMessage
	if ReadMembers(elicitation, Member{"form", &form}, Member{"url", &url}) != nil {
		return false
	}
	return kindOf(form) == kindObject || form == nil && url == nil
}

// MissingCapabilities is -32021 for a request that did not declare what it needs: the Tasks extension, elicitation by forms, or
// both.
func MissingCapabilities(tasks, forms bool) *Error {
	needed, what := map[string]any{}, ""
	if tasks {
		needed["extensions"] = map[string]any{TasksExtension: struct{}{}}
		what = "the extension " + TasksExtension
	}
	if forms {
		needed["elicitation"] = map[string]any{"form": struct{}{}}
		if what != "" {
			what += " and "
		}
		what += "elicitation, to be asked by forms,"
	}
	return &Error{
		Code:    CodeMissingCapability,
		Message: "Missing required client capability: declare " + what + " in this request's _meta",
		Data:    map[string]any{"requiredCapabilities": needed},
	}
}
