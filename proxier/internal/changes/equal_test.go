package changes

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// TestEqualLooksAtEveryField sets one field after the other. A field that is
// added later and forgotten in equal fails here.
func TestEqualLooksAtEveryField(t *testing.T) {
	for i := range reflect.TypeFor[ServicePort]().NumField() {
		var changed ServicePort
		setField(t, reflect.ValueOf(&changed).Elem().Field(i))
		assert.False(t, changed.equal(&ServicePort{}), reflect.TypeFor[ServicePort]().Field(i).Name)
		assert.True(t, changed.equal(&changed))
	}
	for i := range reflect.TypeFor[Endpoint]().NumField() {
		var changed Endpoint
		setField(t, reflect.ValueOf(&changed).Elem().Field(i))
		assert.False(t, changed.equal(Endpoint{}), reflect.TypeFor[Endpoint]().Field(i).Name)
		assert.True(t, changed.equal(changed))
	}
}

func setField(t *testing.T, field reflect.Value) {
	t.Helper()
	for _, value := range []any{
		true, 7, uint16(7), []string{"x"}, netip.MustParseAddr("10.0.0.1"), addrs("10.0.0.1"),
		prefixes("10.0.0.0/8"), portName("web", "http", v1.ProtocolTCP),
	} {
		if reflect.TypeOf(value) == field.Type() {
			field.Set(reflect.ValueOf(value))
			return
		}
	}
	t.Fatalf("no value for a field of type %s", field.Type())
}
