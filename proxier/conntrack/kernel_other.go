//go:build !linux

package conntrack

import (
	"errors"

	v1 "k8s.io/api/core/v1"
)

// Kernel would be the kernel's Table. There is none but on Linux.
type Kernel struct{}

var errNotLinux = errors.New("connections are tracked on Linux only")

// NewKernel returns a Table that fails.
func NewKernel() Kernel { return Kernel{} }

// Walk fails.
func (Kernel) Walk(v1.IPFamily, func(Entry)) error { return errNotLinux }

// Delete fails.
func (Kernel) Delete(v1.IPFamily, []Entry) (int, error) { return 0, errNotLinux }
