//go:build !linux

package main

import (
	"errors"
	"fmt"
	"runtime"
)

// enter is an error: only Linux has the network stack that a NodeSnapshot describes.
func enter(string) error {
	return fmt.Errorf("--root: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}
