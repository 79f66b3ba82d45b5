package internal_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/persist"
)

// TestPersistentMap compares maps with Go's, and sees that an edit does not change what it came from.
func TestPersistentMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, want := &persist.Map[int]{}, map[string]int{}
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			before, beforeWant := m, map[string]int{}
			for k, v := range want {
				beforeWant[k] = v
			}
			m = m.Edit(rapid.IntRange(0, 100).Draw(t, "extra"))
			for range rapid.IntRange(0, 200).Draw(t, "changes") {
				key := fmt.Sprint("a key ", rapid.IntRange(0, 300).Draw(t, "key"))
				switch rapid.IntRange(0, 3).Draw(t, "change") {
				case 0:
					_, was := want[key]
					require.Equal(t, was, m.Remove(key))
					delete(want, key)
				case 1:
					r := m.Ref(key)
					_, was := want[key]
					require.Equal(t, was, r != nil)
					if was {
						*r++
						want[key]++
					}
				default:
					m.Put(key, len(want))
					want[key] = len(want)
				}
			}
			requireMap(t, before, beforeWant)
			requireMap(t, m, want)
			requireDiffering(t, before, m, beforeWant, want)
			requireDiffering(t, m, before, want, beforeWant)
		}
	})
}

func requireDiffering(t *rapid.T, a, b *persist.Map[int], of, other map[string]int) {
	want, got := map[string][2]int{}, map[string][2]int{}
	for key := range of {
		if v, is := other[key]; !is || v != of[key] {
			want[key] = [2]int{of[key], v}
		}
	}
	for key, v := range other {
		if _, is := of[key]; !is {
			want[key] = [2]int{0, v}
		}
	}
	a.Differing(b, func(key string, here, there int) {
		require.NotContains(t, got, key)
		got[key] = [2]int{here, there}
	})
	require.Equal(t, want, got)
}

func requireMap(t *rapid.T, m *persist.Map[int], want map[string]int) {
	require.Equal(t, len(want), m.Len())
	got := map[string]int{}
	m.Each(func(key string, v int) bool {
		got[key] = v
		return true
	})
	require.Equal(t, want, got)
	for key, v := range want {
		found, is := m.GetBytes([]byte(key))
		require.True(t, is)
		require.Equal(t, v, found)
		found, is = m.Get(key)
		require.True(t, is)
		require.Equal(t, v, found)
	}
	_, is := m.Get("none")
	require.False(t, is)
}

// TestPersistentList compares lists in order with slices.
func TestPersistentList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, want := &persist.List[int]{}, []int(nil)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			before, beforeWant := l, slices.Clone(want)
			l = l.Edit()
			for range rapid.IntRange(0, 400).Draw(t, "changes") {
				v := rapid.IntRange(0, 1000).Draw(t, "value")
				at, found := slices.BinarySearch(want, v)
				place := l.Search(func(other int) bool { return other < v })
				there, is := l.At(place)
				require.Equal(t, at < len(want), is)
				require.True(t, !is || there == want[at])
				if previous, any := l.Before(place); any {
					there, _ = l.At(previous)
					require.Equal(t, want[at-1], there)
					require.Equal(t, place, l.After(previous))
				} else {
					require.Zero(t, at)
				}
				switch {
				case !found:
					l.Insert(place, v)
					want = slices.Insert(want, at, v)
				case v%3 == 0:
					l.Remove(place)
					want = slices.Delete(want, at, at+1)
				default:
					l.Set(place, v)
				}
			}
			require.Equal(t, len(want), l.Len())
			require.True(t, slices.Equal(want, l.Values()))
			require.True(t, slices.Equal(want, slices.Collect(l.All())))
			require.True(t, slices.Equal(beforeWant, before.Values()))
		}
		l = (&persist.List[int]{}).Edit()
		for v := range 1000 {
			l.Append(v)
		}
		require.Equal(t, 1000, len(l.Values()))
	})
}
