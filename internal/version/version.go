// Package version says which version of mcptasks a binary is. It must not know anything else.
package version

import "runtime/debug"

// version is set by the linker (-X, see the Makefile).
var version string

// String gives the version: the one set when the binary was built, that of the module where it came from "go install", or
// "devel".
func String() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
