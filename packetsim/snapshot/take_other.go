//go:build !linux

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"k8s.io/utils/exec"
)

// Take is an error: only Linux has the network stack that a NodeSnapshot describes.
func Take(context.Context, exec.Interface) (*NodeSnapshot, error) {
	return nil, fmt.Errorf("take a snapshot of this machine: %w on %s: run chainwalk snapshot on the Linux node", errors.ErrUnsupported,
		runtime.GOOS)
}
