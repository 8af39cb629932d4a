package front

import (
	"encoding/json"
	"net/http"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// method is a method of 2026-07-28 that this endpoint serves.
type method struct {
	// target is the parameter that Mcp-Name repeats, nil where the method has none.
	target func(*wire.Params) (field string, value json.RawMessage)
	// lenient says that Mcp-Name may be missing if the configuration allows it.
	lenient bool
	// tasks says that the request has to declare the Tasks extension.
	tasks bool
	// resources says that the method is there only where resources are offered.
	resources bool
	// serve answers a request that has passed all checks but those of its parameters.
	serve func(*Handler, *exchange)
}

// served are all methods of 2026-07-28 that are offered. Everything else is not found: methods of capabilities that are not
// advertised, and those that the revision has removed.
var served = map[string]method{
	wire.MethodDiscover:   {serve: (*Handler).discover},
	wire.MethodListTools:  {serve: (*Handler).listTools},
	wire.MethodCallTool:   {target: toolName, serve: (*Handler).callTool},
	wire.MethodGetTask:    {target: taskID, lenient: true, tasks: true, serve: (*Handler).getTask},
	wire.MethodUpdateTask: {target: taskID, lenient: true, tasks: true, serve: (*Handler).updateTask},
	wire.MethodCancelTask: {target: taskID, lenient: true, tasks: true, serve: (*Handler).cancelTask},
	wire.MethodListen:     {serve: (*Handler).listen},

	wire.MethodListResources:         {resources: true, serve: (*Handler).listResources},
	wire.MethodListResourceTemplates: {resources: true, serve: (*Handler).listResourceTemplates},
	wire.MethodReadResource:          {resources: true, target: resourceURI, serve: (*Handler).readResource},
}

func toolName(p *wire.Params) (string, json.RawMessage) { return "params.name", p.Name }
func taskID(p *wire.Params) (string, json.RawMessage)   { return "params.taskId", p.TaskID }

func resourceURI(p *wire.Params) (string, json.RawMessage) { return "params.uri", p.URI }

// check makes the checks that all methods have in common. Their order is part of the contract: each is only meaningful once those
// before it have passed, and a request with several faults gets the same answer from every conforming server.
func (h *Handler) check(e *exchange) error {
	params, header := &e.request.Params, e.r.Header
	meta, err := wire.ParseMeta(params.Meta)
	if err != nil {
		return err
	}
	e.meta = meta
	if err := wire.CheckMirror(header, wire.HeaderVersion, "the protocolVersion in _meta", meta.ProtocolVersion); err != nil {
		return err
	}
	if meta.ProtocolVersion != wire.Modern {
		return wire.UnsupportedVersion(meta.ProtocolVersion)
	}
	if err := wire.CheckMirror(header, wire.HeaderMethod, "method", e.request.Method); err != nil {
		return err
	}
	method, ok := served[e.request.Method]
	if !ok || method.resources && !h.Methods.HasResources() {
		return wire.MethodNotFound()
	}
	if method.target != nil {
		field, raw := method.target(params)
		value, isString := wire.String(raw)
		if !isString {
			return wire.InvalidParams("%s is required and must be a string", field)
		}
		if err := wire.CheckName(header, field, value, method.lenient && h.LenientName); err != nil {
			return err
		}
		e.record.Target = shorten(value)
		if method.tasks {
			e.record.Task = e.record.Target
		}
	}
	if method.tasks && !e.meta.Tasks {
		return wire.MissingTasksCapability()
	}
	return nil
}

// shorten keeps what a stranger sent from filling the log.
func shorten(value string) string {
	const most = 80
	if len(value) > most {
		return value[:most]
	}
	return value
}

// isLegacy decides the era of a request (versioning, "Backward Compatibility"): one that names its version in _meta is modern,
// whatever it is; without, it is one of the handshake eras if it shakes hands, carries the version header of such an era, or,
// like clients of 2025-03-26, none at all. Methods that no such era has are modern in any case, so that a client that forgets
// its _meta is told so.
func isLegacy(header http.Header, request *wire.Request) bool {
	version := header.Get(wire.HeaderVersion)
	if version != "" && !wire.IsLegacyVersion(version) {
		return false // whatever else it is, and the most frequent case
	}
	if wire.HasProtocolVersion(request.Params.Meta) {
		return false
	}
	if version != "" {
		return true
	}
	if isLegacyMethod(request.Method) {
		return true
	}
	_, modern := served[request.Method]
	return !modern
}

// isLegacyMethod reports whether a method is offered to clients of the handshake eras.
func isLegacyMethod(name string) bool {
	switch name {
	case wire.MethodInitialize, wire.MethodPing, wire.MethodListTools, wire.MethodCallTool,
		wire.MethodListResources, wire.MethodListResourceTemplates, wire.MethodReadResource:
		return true
	default:
		return false
	}
}
