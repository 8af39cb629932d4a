package wire

// ResourceTemplate is one entry of resources/templates/list.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// ResourceContents is one entry of the contents of resources/read.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	// Meta is there where the text is not all.
	Meta *PageMeta `json:"_meta,omitempty"`
}

// PageMeta is the _meta of contents that go on.
type PageMeta struct {
	// Next is the URI of what follows.
	Next string `json:"mcptasks.dev/next"`
}

// ListResourcesResult is the result of resources/list.
type ListResourcesResult struct {
	ResultHeader
	Resources []struct{} `json:"resources"`
	Cacheable
}

// ListResourceTemplatesResult is the result of resources/templates/list.
type ListResourceTemplatesResult struct {
	ResultHeader
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	Cacheable
}

// ReadResourceResult is the result of resources/read.
type ReadResourceResult struct {
	ResultHeader
	Contents []ResourceContents `json:"contents"`
	Cacheable
}

// ListResources is the result of resources/list, which is empty: resources are found by links and by the templates.
func ListResources(server Server) ListResourcesResult {
	return ListResourcesResult{
		ResultHeader: server.Complete(), Resources: []struct{}{}, Cacheable: Cacheable{TTLMs: hour, CacheScope: ScopePrivate},
	}
}

// ListResourceTemplates is the result of resources/templates/list. It is the same for every caller.
func ListResourceTemplates(server Server, templates []ResourceTemplate) ListResourceTemplatesResult {
	return ListResourceTemplatesResult{
		ResultHeader: server.Complete(), ResourceTemplates: templates, Cacheable: Cacheable{TTLMs: hour, CacheScope: ScopePublic},
	}
}

// ReadResource is the result of resources/read. What is read does not change any more, but goes away some time: it is fresh for
// half a minute.
func ReadResource(server Server, contents ResourceContents) ReadResourceResult {
	return ReadResourceResult{
		ResultHeader: server.Complete(), Contents: []ResourceContents{contents},
		Cacheable: Cacheable{TTLMs: halfMinute, CacheScope: ScopePrivate},
	}
}
