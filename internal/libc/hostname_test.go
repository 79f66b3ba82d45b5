package libc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGetHostByName(t *testing.T) {
	for name, want := range map[string][2]string{ // IPv4, IPv6
		"10.0.0.1":        {"10.0.0.1", ""},
		"10.1":            {"10.0.0.1", ""},
		"10.0.0.010":      {"10.0.0.8", ""},
		"0x0a000001":      {"", ""},
		"10.0.0.1.":       {"", ""},
		"1.2.3.4.5":       {"", ""},
		"256.1.1.1":       {"", ""},
		"fd00::1":         {"", "fd00::1"},
		"::ffff:10.0.0.1": {"", "::ffff:10.0.0.1"},
		"fd00::1%lo":      {"", ""},
		"":                {"", ""},
		"x":               {"", ""},
	} {
		for i, bits := range []int{32, 128} {
			a, ok := GetHostByName(name, bits)
			assert.Equal(t, want[i] != "", ok, "%s, %d bits", name, bits)
			if ok {
				assert.Equal(t, want[i], a.String())
			}
		}
	}
}
