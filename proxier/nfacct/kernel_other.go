//go:build !linux

package nfacct

// Kernel would be the kernel's objects. There are none but on Linux.
type Kernel struct{}

// New is errNotSupported.
func New() (Kernel, error) { return Kernel{}, errNotSupported }

// Ensure is errNotSupported.
func (Kernel) Ensure(string) error { return errNotSupported }

// Add is errNotSupported.
func (Kernel) Add(string) error { return errNotSupported }

// Get is errNotSupported.
func (Kernel) Get(string) (Counter, error) { return Counter{}, errNotSupported }

// List is errNotSupported.
func (Kernel) List() ([]Counter, error) { return nil, errNotSupported }
