package peers

import (
	"fmt"
	"reflect"
	_ "unsafe" // for go:linkname

	"github.com/vishvananda/netlink/nl"
	"k8s.io/kubernetes/pkg/proxy/util/nfacct"
)

// isResourceError is kube-proxy's own way to tell that a tool failed for want of the lock.
//
//go:linkname isResourceError k8s.io/kubernetes/pkg/util/iptables.isResourceError
func isResourceError(err error) bool

// field returns a field of the struct that object points to, also one that is not exported. A version of kube-proxy
// that has no such field any longer is a panic: the harness has to be changed then.
func field[T any](object any, name string) *T {
	value := fieldOf(object, name)
	if value.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("field %s of %T is no %s", name, object, reflect.TypeFor[T]()))
	}
	return (*T)(value.Addr().UnsafePointer())
}

// fieldOf is field for one whose type is not exported either. It can be set.
func fieldOf(object any, name string) reflect.Value {
	value := reflect.ValueOf(object).Elem().FieldByName(name)
	if !value.IsValid() {
		panic(fmt.Sprintf("%T has no field %s", object, name))
	}
	return reflect.NewAt(value.Type(), value.Addr().UnsafePointer()).Elem()
}

// closeSocket closes the netlink socket of an nfacct runner, which would stay open as long as the process lives.
func closeSocket(runner nfacct.Interface) {
	handler := reflect.ValueOf(runner).Elem().FieldByName("handler").Elem().Elem()
	(*nl.NetlinkSocket)(handler.FieldByName("socket").UnsafePointer()).Close()
}
