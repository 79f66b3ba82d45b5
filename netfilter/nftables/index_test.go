package nftables

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestIndex asks sets so often that they get an index, and changes them meanwhile: what is found is what there is, also in states that came
// before.
func TestIndex(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		k := benchKernel()
		length := rapid.IntRange(1, longestIndexed+1).Draw(t, "length")
		require.Empty(t, k.Commit([]Change{
			&AddTable{TableSpec: TableSpec{Family: IPv4, Name: "t"}},
			&AddSet{Family: IPv4, Table: "t", Set: SetSpec{Name: "s", KeyLen: uint32(length)}},
		}))
		universe := 200
		key := func(n int) []byte {
			key := make([]byte, length)
			if length == 1 {
				key[0] = byte(n)
			} else {
				binary.BigEndian.PutUint16(key[(length-2)/2:], uint16(n))
			}
			return key
		}
		is := map[int]bool{}
		type version struct {
			set *Set
			is  map[int]bool
		}
		var versions []version
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			var changes []Change
			for range rapid.IntRange(0, 40).Draw(t, "changes") {
				n := rapid.IntRange(0, universe-1).Draw(t, "key")
				one := []ElementSpec{{Key: key(n)}}
				if is[n] {
					changes = append(changes, &DeleteElements{Family: IPv4, Table: "t", Set: "s", Elements: one})
				} else {
					changes = append(changes, &AddElements{Family: IPv4, Table: "t", Set: "s", Elements: one})
				}
				is[n] = !is[n]
			}
			require.Empty(t, k.Commit(changes))
			now := version{k.State().Table(IPv4, "t").Set("s"), map[int]bool{}}
			for n := range is {
				now.is[n] = is[n]
			}
			versions = append(versions, now)
			for range rapid.IntRange(0, 2).Draw(t, "turns") {
				for _, v := range versions {
					for n := range universe {
						require.Equal(t, v.is[n], v.set.Find(key(n), time.Time{}) != nil)
						require.Equal(t, v.is[n], v.set.HasKey(indexKeyOf(key(n)), key(n)))
					}
				}
			}
		}
	})
}

// TestIndexIsKept looks where the answers come from: an index outlives small changes, and not many of them.
func TestIndexIsKept(t *testing.T) {
	k := benchKernel()
	require.Empty(t, k.Commit(proxyOf(100)))
	set := func() *Set { return k.State().Table(IPv4, "p").Set("service-ips") }
	require.Nil(t, set().members.Load().index.Load())
	for n := range 100 {
		require.NotNil(t, set().Find(serviceKey(n), time.Time{}))
	}
	index := set().members.Load().index.Load()
	require.NotNil(t, index)
	require.Empty(t, k.Commit(proxyService(100)))
	require.Same(t, index, set().members.Load().index.Load())
	require.NotNil(t, set().Find(serviceKey(100), time.Time{}))
	for n := range mostStale {
		require.Empty(t, k.Commit(proxyService(101+n)))
	}
	require.Nil(t, set().members.Load().index.Load())
}
