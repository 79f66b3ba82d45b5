package xtables

import (
	"bytes"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// AppendSetRef appends " NAME SIDE,SIDE".
func AppendSetRef(dst []byte, r ipset.Ref) []byte {
	dst = append(append(dst, ' '), r.Set...)
	separator := byte(' ')
	for i := range r.Dim {
		word := "dst"
		if r.SrcSides&(1<<i) != 0 {
			word = "src"
		}
		dst = append(append(dst, separator), word...)
		separator = ','
	}
	return dst
}

// ParseSetRef reads "NAME SIDE,SIDE"; missing is the error where the second word is not there.
func ParseSetRef(r *ipset.Ref, o *OptionCall, missing string) error {
	sides, ok := o.Next()
	if !ok {
		return BadParameter("%s", missing)
	}
	if len(o.Arg) > ipset.MaxName {
		return BadParameter("setname `%s' too long, max %d characters.", o.Arg, ipset.MaxName)
	}
	family, ok, err := o.FindSet(string(o.Arg))
	switch {
	case err != nil:
		return err
	case !ok:
		return BadParameter("Set %s doesn't exist.\n", o.Arg)
	case family != 0 && family != o.Family:
		return BadParameter("The protocol family of set %s is %s, which is not applicable.\n", o.Arg, wordIPv(family))
	}
	r.Set = string(o.Arg)
	for sides != nil {
		if r.Dim == maxSetDim {
			return BadParameter("Can't be more src/dst options than %d.", maxSetDim)
		}
		var side []byte
		side, sides, ok = bytes.Cut(sides, []byte(","))
		switch {
		case bytes.HasPrefix(side, []byte("src")):
			r.SrcSides |= 1 << r.Dim
		case !bytes.HasPrefix(side, []byte("dst")):
			return BadParameter("You must spefify (the comma separated list of) 'src' or 'dst'.")
		}
		if r.Dim++; !ok {
			return nil
		}
	}
	return nil
}

// wordIPv is "IPv4" or "IPv6".
func wordIPv(f netfilter.Family) string { return "IPv" + strconv.Itoa(int(f)) }

// maxSetDim is the number of sides that the kernel's code has room for.
const maxSetDim = 6
