package diagram

import (
	"cmp"
	"slices"
)

// Value is a value of a variable, an unsigned number of 128 bits.
type Value struct{ High, Low uint64 }

// Number is a value of up to 64 bits.
func Number(n uint64) Value { return Value{Low: n} }

// Compare is the order of numbers.
func (v Value) Compare(w Value) int {
	if v.High != w.High {
		return cmp.Compare(v.High, w.High)
	}
	return cmp.Compare(v.Low, w.Low)
}

// Less says whether the value is smaller than another one.
func (v Value) Less(w Value) bool { return v.High < w.High || v.High == w.High && v.Low < w.Low }

// Next is the value after it; the greatest is followed by 0.
func (v Value) Next() Value {
	if v.Low++; v.Low == 0 {
		v.High++
	}
	return v
}

// Prev is the value before it; 0 follows the greatest.
func (v Value) Prev() Value {
	if v.Low == 0 {
		v.High--
	}
	v.Low--
	return v
}

// Float is the value as nearly as a float can have it.
func (v Value) Float() float64 { return float64(v.High)*(1<<64) + float64(v.Low) }

// Interval is the values from First to Last.
type Interval struct{ First, Last Value }

// Point is the interval of one value.
func Point(v Value) Interval { return Interval{v, v} }

// Has says whether the interval has a value.
func (i Interval) Has(v Value) bool { return !v.Less(i.First) && !i.Last.Less(v) }

// Size is how many values are in the interval.
func (i Interval) Size() float64 {
	last := i.Last
	borrow := uint64(0)
	if last.Low < i.First.Low {
		borrow = 1
	}
	return Value{last.High - i.First.High - borrow, last.Low - i.First.Low}.Float() + 1
}

// Set is a set of values: intervals that are ascending and do not touch. Nil is the empty set.
type Set []Interval

// SetOf is the values of intervals in any order.
func SetOf(intervals ...Interval) Set {
	sorted := slices.Clone(intervals)
	slices.SortFunc(sorted, func(a, b Interval) int { return a.First.Compare(b.First) })
	var s Set
	for _, i := range sorted {
		if i.Last.Less(i.First) {
			continue
		}
		if n := len(s); n > 0 && (!s[n-1].Last.Less(i.First) || s[n-1].Last.Next() == i.First) {
			if s[n-1].Last.Less(i.Last) {
				s[n-1].Last = i.Last
			}
			continue
		}
		s = append(s, i)
	}
	return s
}

// Has says whether the set has a value.
func (s Set) Has(v Value) bool {
	at, _ := slices.BinarySearchFunc(s, v, func(i Interval, v Value) int { return i.Last.Compare(v) })
	return at < len(s) && s[at].Has(v)
}

// Not is the values up to max that are not in the set.
func (s Set) Not(upTo Value) Set {
	var out Set
	next := Value{}
	for _, i := range s {
		if next.Less(i.First) {
			out = append(out, Interval{next, i.First.Prev()})
		}
		if !i.Last.Less(upTo) {
			return out
		}
		next = i.Last.Next()
	}
	return append(out, Interval{next, upTo})
}

// And is the values that are in both sets.
func (s Set) And(t Set) Set {
	var out Set
	for i, j := 0, 0; i < len(s) && j < len(t); {
		first, last := s[i].First, s[i].Last
		if first.Less(t[j].First) {
			first = t[j].First
		}
		if t[j].Last.Less(last) {
			last = t[j].Last
		}
		if !last.Less(first) {
			out = append(out, Interval{first, last})
		}
		if s[i].Last.Less(t[j].Last) {
			i++
		} else {
			j++
		}
	}
	return out
}

// Meets says whether some value is in both sets.
func (s Set) Meets(t Set) bool {
	for i, j := 0, 0; i < len(s) && j < len(t); {
		switch {
		case s[i].Last.Less(t[j].First):
			i++
		case t[j].Last.Less(s[i].First):
			j++
		default:
			return true
		}
	}
	return false
}

// IsAll says whether the set has every value up to max.
func (s Set) IsAll(upTo Value) bool {
	return len(s) == 1 && s[0] == Interval{Last: upTo}
}
