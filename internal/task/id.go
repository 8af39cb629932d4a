package task

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
)

// idBytes is the randomness of an id: 128 bits, so that ids can be neither guessed nor enumerated (Tasks extension, "Security
// Considerations").
const idBytes = 16

var idEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewID makes a task id from 128 bits of r: "t-" and 26 characters of a-z2-7. It is a DNS label, short enough to be the name of
// an MCPTask, of its Job and the stem of its pods' names. The error is r's.
func NewID(r io.Reader) (string, error) {
	var b [idBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("read randomness for a task id: %w", err)
	}
	return "t-" + strings.ToLower(idEncoding.EncodeToString(b[:])), nil
}
