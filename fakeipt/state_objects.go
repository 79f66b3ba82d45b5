package fakeipt

import (
	"sync"

	"github.com/chainwalk/chainwalk/internal/record"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// objectState is the objects that rules name.
type objectState struct {
	Accounts []nfacct.Object
	Sets     []byte // as ipset.Table.AppendState has written them
}

// objectTypes are the types of the objects' state.
var objectTypes = sync.OnceValue(func() *record.Types { return record.NewTypes(nil, &objectState{}) })

// AppendObjects appends the objects that rules name so that ReadObjects makes them again, just as they are.
func (k *Kernel) AppendObjects(dst []byte) []byte {
	w := objectTypes().Writer(dst, 0)
	w.Write(&objectState{Accounts: k.namespace.Accounts().List(), Sets: k.namespace.Sets().AppendState(nil)})
	return w.Record()
}

// ReadObjects makes the objects that AppendObjects has written, in a kernel without any.
func (k *Kernel) ReadObjects(text []byte) error {
	var state objectState
	r, err := objectTypes().Reader(text)
	if err == nil {
		err = r.Read(&state)
	}
	if err != nil {
		return err
	}
	for _, o := range state.Accounts {
		if err := k.namespace.Accounts().AddObject(o); err != nil {
			return err
		}
	}
	return k.namespace.Sets().ReadState(state.Sets)
}
