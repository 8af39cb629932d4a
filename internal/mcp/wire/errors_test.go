package wire

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whatever code stands anywhere in the product is one of JSON-RPC's or one of the three of MCP, and none of an older draft.
func TestCodes_S49(t *testing.T) {
	allowed := []string{"-32700", "-32600", "-32601", "-32602", "-32603", "-32020", "-32021", "-32022"}
	code := regexp.MustCompile(`-32\d{3}\b`)
	found := map[string]bool{}
	for _, dir := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, c := range code.FindAllString(string(source), -1) {
				found[c] = true
				if !slices.Contains(allowed, c) {
					t.Errorf("%s: code %s", path, c)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range allowed {
		if !found[c] {
			t.Errorf("code %s is nowhere: this test looks in the wrong place", c)
		}
	}
}
