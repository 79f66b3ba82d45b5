package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	isComplete := func(p *progress) bool {
		select {
		case <-p.complete:
			return true
		default:
			return false
		}
	}
	for _, test := range []struct {
		name          string
		before, after []string // what is delivered
		store         []string
		want          bool
	}{
		{"nothing is there", nil, nil, nil, true},
		{"all came before", []string{"a", "b"}, nil, []string{"shop/a", "shop/b"}, true},
		{"all came after", nil, []string{"b", "a"}, []string{"shop/a", "shop/b"}, true},
		{"one came before, one after", []string{"a"}, []string{"b"}, []string{"shop/a", "shop/b"}, true},
		{"one is missing between two", []string{"a"}, []string{"c"}, []string{"shop/a", "shop/b", "shop/c"}, false},
		{"one that came has gone since", []string{"a"}, []string{"b"}, []string{"shop/b"}, true},
		{"events go on afterwards", []string{"a"}, []string{"a", "c", "c"}, []string{"shop/a"}, true},
		{"an object twice is not two", nil, []string{"a", "a"}, []string{"shop/a", "shop/b"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProgress()
			for _, name := range test.before {
				p.delivered(service(name, "10.96.0.1", nil))
				require.False(t, isComplete(p), "the store was not read yet")
			}
			p.await(test.store)
			for _, name := range test.after {
				p.delivered(service(name, "10.96.0.1", nil))
			}
			require.Equal(t, test.want, isComplete(p))
		})
	}
}
