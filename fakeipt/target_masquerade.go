package fakeipt

import "syscall"

// TargetMasquerade is -j MASQUERADE. Its range has no addresses.
type TargetMasquerade struct {
	Range NATRange
}

// Name is "MASQUERADE".
func (*TargetMasquerade) Name() string { return "MASQUERADE" }

func (t *TargetMasquerade) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	if t.Range.HasPorts {
		dst = t.Range.appendPorts(append(dst, " --to-ports "...))
	}
	return t.Range.appendFlags(dst, " --")
}

func (t *TargetMasquerade) appendList(dst []byte, _ listStyle) []byte {
	if t.Range.HasPorts {
		dst = t.Range.appendPorts(append(dst, " masq ports: "...))
	}
	return t.Range.appendFlags(dst, " ")
}

func (t *TargetMasquerade) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (t *TargetMasquerade) allowedHooks(bool) hookMask { return hookPostrouting }

var masqueradeExtension = &extension{
	name: "MASQUERADE",
	options: []optionSpec{
		{name: "to-ports"},
		{name: "random", flag: true},
		{name: "random-fully", flag: true},
	},
	newTarget: func() targetParser { return &masqueradeParser{} },
}

type masqueradeParser struct {
	natParser
	arena arena[TargetMasquerade]
}

func (p *masqueradeParser) begin(Family) { p.natParser = natParser{} }

func (p *masqueradeParser) option(o *optionCall) error {
	if o.name == "to-ports" {
		return p.toPorts(o)
	}
	p.flag(o.name)
	return nil
}

func (p *masqueradeParser) finish(uint32) (Target, error) {
	return p.arena.intern(TargetMasquerade{Range: p.r}), nil
}
