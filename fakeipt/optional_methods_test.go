package fakeipt

import (
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestOptionalMethodsAreWhatIsAskedFor: a match or target may have methods that package xtables looks for. One of the right name with
// another signature would never be called.
func TestOptionalMethodsAreWhatIsAskedFor(t *testing.T) {
	signatures := map[string]reflect.Type{
		"AddFact":      reflect.TypeFor[func(*netfilter.Fact)](),
		"AllowedHooks": reflect.TypeFor[func(bool) xtables.HookMask](),
		"Check":        reflect.TypeFor[func(*xtables.CheckContext) syscall.Errno](),
		"Compared":     reflect.TypeFor[func() any](),
		"Kept":         reflect.TypeFor[func(netfilter.Dialect) (any, bool)](),
		"ListName":     reflect.TypeFor[func(netfilter.Dialect) string](),
		"Tied":         reflect.TypeFor[func()](),
		"Unlike":       reflect.TypeFor[func(any) bool](),
	}
	met := map[string]bool{}
	for _, part := range ruleset.StateParts() {
		for name, want := range signatures {
			if m := reflect.ValueOf(part).MethodByName(name); m.IsValid() {
				met[name] = true
				assert.Equal(t, want, m.Type(), "%T.%s", part, name)
			}
		}
	}
	assert.Len(t, met, len(signatures), "each method is somebody's")
}
