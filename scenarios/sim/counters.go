package sim

import (
	"errors"
	"fmt"

	objects "github.com/chainwalk/chainwalk/fakeipt/nfacct"
	"github.com/chainwalk/chainwalk/proxier/nfacct"
)

// Add makes an object with counters at zero, with the errors of nfacct.Kernel.
func (a accounting) Add(name string) error {
	err := a.kernel.NFAcct().Add(name)
	switch {
	case errors.Is(err, objects.ErrExists):
		return fmt.Errorf("making nfacct object %q: %w", name, nfacct.ErrExists)
	case errors.Is(err, objects.ErrName) && name == "":
		return fmt.Errorf("making nfacct object %q: %w", name, nfacct.ErrEmptyName)
	case errors.Is(err, objects.ErrName):
		return fmt.Errorf("making nfacct object %q: %w", name, nfacct.ErrNameTooLong)
	}
	return err
}

// Get reads an object. It is nfacct.ErrNotFound if there is none.
func (a accounting) Get(name string) (nfacct.Counter, error) {
	object, ok := a.kernel.NFAcct().Get(name)
	if !ok {
		return nfacct.Counter{}, fmt.Errorf("reading nfacct object %q: %w", name, nfacct.ErrNotFound)
	}
	return counterOf(object), nil
}

// List reads all objects.
func (a accounting) List() ([]nfacct.Counter, error) {
	var counters []nfacct.Counter
	for _, object := range a.kernel.NFAcct().List() {
		counters = append(counters, counterOf(object))
	}
	return counters, nil
}

func counterOf(object objects.Object) nfacct.Counter {
	return nfacct.Counter{Name: object.Name, Packets: object.Packets, Bytes: object.Bytes}
}
