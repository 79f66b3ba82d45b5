package ipset

import "slices"

// knownSets are the sets that a run has created, in the order of their creation. The tool does not ask the kernel what they are. Two can
// have one name: the first counts, and the tool does not look at the last where it looks for a name before it adds another.
type knownSets []knownSet

// knownSet is a set as the tool takes it to be.
type knownSet struct {
	name   string
	kind   *setType
	family Family
}

func (k knownSets) index(name string) int {
	return slices.IndexFunc(k, func(s knownSet) bool { return s.name == name })
}

func (k *knownSets) add(s knownSet) {
	if i := k.index(s.name); i < 0 || i == len(*k)-1 {
		*k = append(*k, s)
	}
}

// remove forgets a set, or all where the name is empty.
func (k *knownSets) remove(name string, all bool) {
	if all {
		*k = nil
	} else if i := k.index(name); i >= 0 {
		*k = slices.Delete(*k, i, i+1)
	}
}

func (k knownSets) rename(from, to string) {
	if i := k.index(from); i >= 0 {
		k[i].name = to
	}
}

func (k knownSets) swap(a, b string) {
	if i, j := k.index(a), k.index(b); i >= 0 && j >= 0 {
		k[i].name, k[j].name = b, a
	}
}
