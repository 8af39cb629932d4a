package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// A tree is a YAML mapping whose entries have an order and may have comments.
type tree struct{ node *yamlv3.Node }

func newTree() tree {
	return tree{&yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}}
}

// set adds an entry with comment lines above it.
func (t tree) set(key string, value *yamlv3.Node, comment ...string) {
	k := text(key)
	k.HeadComment = remark(comment...)
	t.node.Content = append(t.node.Content, k, value)
}

// remark is the text of a comment.
func remark(lines ...string) string {
	var out []string
	for _, line := range lines {
		// What a manifest says must not end the comment.
		for _, part := range strings.Split(wrap(strings.Map(printable, line)), "\n") {
			out = append(out, "# "+part)
		}
	}
	return strings.Join(out, "\n")
}

func printable(r rune) rune {
	if !strconv.IsPrint(r) {
		return ' '
	}
	return r
}

// commentWidth is how long a line of a comment gets, indentation apart.
const commentWidth = 110

// wrap breaks a line between words. Further lines of an item of a list are indented.
func wrap(line string) string {
	indent := ""
	if strings.HasPrefix(line, "- ") {
		indent = "  "
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(line) {
		switch {
		case i == 0:
		case width+1+len(word) > commentWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// text is a string. It is written without quotes only where every reader of YAML takes it for a string, old ones included, to
// whom yes and 0777 are something else.
func text(s string) *yamlv3.Node {
	n := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yamlv3.LiteralStyle
		other := func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }
		if strings.ContainsFunc(s, other) || strings.ContainsAny(s[:1], " \t\n") {
			n.Style = yamlv3.DoubleQuotedStyle
		}
		return n
	}
	var read map[string]any
	if err := yaml.Unmarshal([]byte("key: "+s), &read); err != nil || len(read) != 1 || read["key"] != s {
		n.Style = yamlv3.DoubleQuotedStyle
	}
	return n
}

func boolean(b bool) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func integer(s string) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!int", Value: s}
}

// fromValue is any value that has a JSON form, with its members in the order of their Go fields.
func fromValue(v any) (*yamlv3.Node, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(&b)
	decoder.UseNumber()
	return fromJSON(decoder)
}

func fromJSON(d *json.Decoder) (*yamlv3.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		n := &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
		if token == '{' {
			n.Kind, n.Tag = yamlv3.MappingNode, "!!map"
		}
		for d.More() { // in an object, keys and values by turns
			child, err := fromJSON(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := d.Token()
		return n, err
	case string:
		return text(token), nil
	case bool:
		return boolean(token), nil
	case json.Number:
		if _, err := token.Int64(); err == nil {
			return integer(token.String()), nil
		}
		return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!float", Value: token.String()}, nil
	case nil:
		return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!null", Value: "null"}, nil
	default:
		return nil, fmt.Errorf("unexpected %v", token)
	}
}

// entry is the value of a mapping's key, nil where it has none.
func entry(n *yamlv3.Node, key string) *yamlv3.Node {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// remove takes entries out of a mapping, where they are empty.
func removeEmpty(n *yamlv3.Node, keys ...string) {
	for i := 0; n != nil && i+1 < len(n.Content); {
		if slices.Contains(keys, n.Content[i].Value) && len(n.Content[i+1].Content) == 0 {
			n.Content = slices.Delete(n.Content, i, i+2)
			continue
		}
		i += 2
	}
}

// last moves entries of a mapping to its end, in that order.
func last(n *yamlv3.Node, keys ...string) {
	for _, key := range keys {
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				pair := slices.Clone(n.Content[i : i+2])
				n.Content = append(slices.Delete(n.Content, i, i+2), pair...)
				break
			}
		}
	}
}

// write is the document.
func (t tree) write(comment ...string) ([]byte, error) {
	document := &yamlv3.Node{Kind: yamlv3.DocumentNode, Content: []*yamlv3.Node{t.node}}
	t.node.Content[0].HeadComment = remark(comment...)
	var b bytes.Buffer
	encoder := yamlv3.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return nil, err
	}
	err := encoder.Close()
	return b.Bytes(), err
}
