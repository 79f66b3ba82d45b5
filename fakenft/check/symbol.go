package check

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// evalSymbol makes a value of a word, by the type that is expected.
func (c *exprChecker) evalSymbol(at *syntax.Expr, e *syntax.Symbol) bool {
	v, text := parseWord(c.world, e.Text, c.want.typ)
	if text != "" {
		return c.wrong(text, e.Loc)
	}
	v.Loc = e.Loc
	e.Value = v
	*at = &e.Value
	return c.evalValue(at, &e.Value)
}

// parseWord is what a word means as a value of a type, or else nft's message.
func parseWord(w World, word string, t *syntax.Datatype) (syntax.Value, string) {
	if t == nil {
		return syntax.Value{}, "No symbol type information"
	}
	if len(t.Parts) > 0 {
		return syntax.Value{}, "invalid data type, expected " + t.Desc
	}
	for at := t; at != nil; at = at.Base {
		if read := readers[at.ID]; read != nil {
			v, text := read(w, word, t)
			if text != "" {
				return syntax.Value{}, text
			}
			if v.Type == nil {
				v.Type = t
			}
			return v, ""
		}
		if at.Symbols != nil {
			return symbolic(w, word, t, at.Symbols)
		}
	}
	return syntax.Value{}, "Can't parse symbolic " + t.Desc + " expressions"
}

// symbolic is the value of a name in a table, or a number.
func symbolic(w World, word string, t *syntax.Datatype, names *syntax.Symbols) (syntax.Value, string) {
	if n, ok := names.Value(word); ok {
		return syntax.Value{Common: syntax.Common{Type: t}, Num: syntax.NumOf(n)}, ""
	}
	for at := t.Base; at != nil; at = at.Base {
		if read := readers[at.ID]; read != nil {
			v, text := read(w, word, t)
			if text != "" {
				return syntax.Value{}, text
			}
			v.Type = t
			return v, ""
		}
	}
	return syntax.Value{}, "Could not parse " + t.Desc
}

type reader = func(w World, word string, t *syntax.Datatype) (syntax.Value, string)

var readers [64]reader

func init() {
	for t, read := range map[*syntax.Datatype]reader{
		syntax.TypeInteger: readInteger, syntax.TypeString: readText, syntax.TypeLLAddr: readLLAddr, syntax.TypeIPv4Addr: readAddr,
		syntax.TypeIPv6Addr: readAddr, syntax.TypeInetProto: readProtocol, syntax.TypeInetService: readService, syntax.TypeTime: readTime,
		syntax.TypeIfindex: readDevice, syntax.TypeClassid: readClassid, syntax.TypeUID: readUser, syntax.TypeGID: readGroup,
		syntax.TypeCTLabel: readLabel, syntax.TypeDate: readDate, syntax.TypeHour: readHour, syntax.TypeCgroupv2: readCgroup,
		syntax.TypeMark: readTable, syntax.TypeRealm: readTable, syntax.TypeDevgroup: readTable,
	} {
		readers[t.ID] = read
	}
}

func num(n uint64) syntax.Value { return syntax.Value{Num: syntax.NumOf(n)} }

// readTable reads a word of a table that the machine has in /etc.
func readTable(w World, word string, t *syntax.Datatype) (syntax.Value, string) {
	return symbolic(w, word, t, t.Symbols)
}

// readInteger reads a number as libgmp does with base 0: decimal, 0x, 0b, or octal behind a 0.
func readInteger(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	n, ok := number(word)
	if !ok {
		return syntax.Value{}, "Could not parse " + t.Desc
	}
	return syntax.Value{Num: n}, ""
}

func number(word string) (syntax.Num, bool) {
	digits, base := word, uint64(10)
	switch {
	case len(word) > 1 && (word[:2] == "0x" || word[:2] == "0X"):
		digits, base = word[2:], 16
	case len(word) > 1 && (word[:2] == "0b" || word[:2] == "0B"):
		digits, base = word[2:], 2
	case len(word) > 1 && word[0] == '0':
		digits, base = word[1:], 8
	}
	if digits == "" {
		return syntax.Num{}, false
	}
	var n syntax.Num
	for i := range len(digits) {
		d := libc.Digit(digits[i])
		if d >= base || n.Hi>>56 != 0 {
			return syntax.Num{}, false
		}
		n = multiplied(n, base, d)
	}
	return n, true
}

// multiplied is n*by + plus.
func multiplied(n syntax.Num, by, plus uint64) syntax.Num {
	var sum syntax.Num
	for bit := uint(0); by>>bit != 0; bit++ {
		if by>>bit&1 != 0 {
			sum = sum.Plus(n.Left(bit))
		}
	}
	return sum.Plus(syntax.NumOf(plus))
}

func readText(_ World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	return syntax.Value{Common: syntax.Common{Type: syntax.TypeString}, Text: word}, ""
}

// readLLAddr reads hexadecimal numbers of a byte with any character between them.
func readLLAddr(_ World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	var n syntax.Num
	for rest := []byte(word); ; {
		part, after := libc.CutHex(rest)
		if len(after) == len(rest) || part > 0xff {
			return syntax.Value{}, "Invalid LL address"
		}
		n = n.Left(8)
		n.Lo |= part
		if len(after) == 0 {
			return syntax.Value{Num: n}, ""
		}
		rest = after[1:]
	}
}

// readAddr reads an address, or the name of a host.
func readAddr(w World, word string, t *syntax.Datatype) (syntax.Value, string) {
	if a, err := netip.ParseAddr(word); err == nil && a.BitLen() == t.Bits && a.Zone() == "" {
		return syntax.Value{Common: syntax.Common{Type: t}, Num: numOfAddr(a)}, ""
	}
	all, err := w.Names().GetAddrInfo([]byte(word), t.Bits)
	if err != nil {
		return syntax.Value{}, "Could not resolve hostname: " + err.Error()
	}
	if len(all) > 1 {
		return syntax.Value{}, "Hostname resolves to multiple addresses"
	}
	return syntax.Value{Common: syntax.Common{Type: t}, Num: numOfAddr(all[0])}, ""
}

func numOfAddr(a netip.Addr) syntax.Num {
	if a.Is4() {
		four := a.As4()
		return syntax.NumOfBytes(four[:])
	}
	all := a.As16()
	return syntax.NumOfBytes(all[:])
}

// cNumber reads a number as strtoumax of C does with base 0; ok is false if it is not all of the word. A number too great is the greatest.
func cNumber(word string) (uint64, bool) {
	n, rest, ok := libc.CutNumber([]byte(word))
	return n, ok && len(rest) == 0
}

func readProtocol(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	n, ok := cNumber(word)
	switch {
	case ok && n > 0xff:
		return syntax.Value{}, "Protocol out of range"
	case !ok:
		named, known := libc.ProtocolByName([]byte(word))
		if !known {
			return syntax.Value{}, "Could not resolve protocol name"
		}
		n = uint64(named)
	}
	v := num(n)
	v.Type = t
	return v, ""
}

func readService(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	n, ok := cNumber(word)
	switch {
	case ok && n > 0xffff:
		return syntax.Value{}, "Service out of range"
	case !ok:
		named, known := libc.Service([]byte(word), 0)
		if !known {
			return syntax.Value{}, "Could not resolve service: Servname not supported for ai_socktype"
		}
		n = uint64(named)
	}
	v := num(n)
	v.Type = t
	return v, ""
}

func readDevice(w World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	if index, ok := w.Device(word); ok {
		return num(uint64(index)), ""
	}
	n, err := strconv.ParseInt(strings.TrimLeft(word, " \t\n"), 10, 32)
	if err != nil && word != "" || n < 0 {
		return syntax.Value{}, "Interface does not exist"
	}
	return num(uint64(n)), ""
}

func readClassid(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	switch major, minor, ok := strings.Cut(word, ":"); {
	case word == "root":
		return num(0xffffffff), ""
	case word == "none":
		return num(0), ""
	case ok:
		high, _ := libc.CutHex([]byte(major))
		low, _ := libc.CutHex([]byte(minor))
		return num(high&0xffff<<16 | low&0xffff), ""
	}
	n, _, _ := libc.CutNumber([]byte(word))
	return num(n & 0xffffffff), ""
}

func readUser(w World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	if n, ok := w.Names().User(word); ok {
		return num(uint64(n)), ""
	}
	n, rest, _ := libc.CutDecimal([]byte(word))
	switch {
	case n > 0xffffffff:
		return syntax.Value{}, "Value too large"
	case len(rest) > 0:
		return syntax.Value{}, "User does not exist"
	}
	return num(n), ""
}

func readGroup(w World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	if n, ok := w.Names().Group(word); ok {
		return num(uint64(n)), ""
	}
	n, rest, ok := libc.CutNumber([]byte(word))
	if !ok {
		rest = []byte(word)
	}
	switch {
	case n > 0xffffffff:
		return syntax.Value{}, "Value too large"
	case len(rest) > 0:
		return syntax.Value{}, "Group does not exist"
	}
	return num(n), ""
}

// readLabel reads the number of a bit, as there is no file of names.
func readLabel(_ World, word string, t *syntax.Datatype) (syntax.Value, string) {
	n, rest, ok := libc.CutNumber([]byte(word))
	switch {
	case !ok || len(rest) > 0:
		return syntax.Value{}, fmt.Sprintf("%s: could not parse %s \"%s\"", "/etc/connlabel.conf", t.Desc, word)
	case n >= 128:
		return syntax.Value{}, fmt.Sprintf("%s: bit %d out of range (%d max)", "/etc/connlabel.conf", n, 128)
	}
	return syntax.Value{Common: syntax.Common{Type: t}, Num: syntax.NumOf(1).Left(uint(n))}, ""
}

func readCgroup(_ World, word string, _ *syntax.Datatype) (syntax.Value, string) {
	return syntax.Value{}, "cgroupv2 path fails: No such file or directory"
}
