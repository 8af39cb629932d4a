//go:build !unix

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "localcluster: this program needs Linux, or macOS for a control plane; on Windows, run it in WSL")
	os.Exit(1)
}
