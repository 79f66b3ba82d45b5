//go:build !unix

package nodeimage

import "os/exec"

// ownGroup does nothing: node images are built on Linux.
func ownGroup(*exec.Cmd, bool) {}
