//go:build !linux

package nfacct

// Kernel would be the kernel's objects. There are none but on Linux.
type Kernel struct{}

// New is ErrNotSupported.
func New() (Kernel, error) { return Kernel{}, ErrNotSupported }

// Ensure is ErrNotSupported.
func (Kernel) Ensure(string) error { return ErrNotSupported }

// Add is ErrNotSupported.
func (Kernel) Add(string) error { return ErrNotSupported }

// Get is ErrNotSupported.
func (Kernel) Get(string) (Counter, error) { return Counter{}, ErrNotSupported }

// List is ErrNotSupported.
func (Kernel) List() ([]Counter, error) { return nil, ErrNotSupported }
