package fakeipt

// MatchConnmark is -m connmark: the connection's mark under Mask is Value.
type MatchConnmark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "connmark".
func (*MatchConnmark) Name() string { return "connmark" }

func (m *MatchConnmark) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	return appendMark(appendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *MatchConnmark) appendList(dst []byte, _ listStyle) []byte {
	return appendMark(append(append(dst, " connmark match "...), bang(m.Invert)...), m.Value, m.Mask)
}

var connmarkMatchExtension = &extension{
	name:     "connmark",
	options:  []optionSpec{{name: "mark", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &connmarkMatchParser{} },
}

type connmarkMatchParser struct {
	m     MatchConnmark
	arena arena[MatchConnmark]
}

func (p *connmarkMatchParser) begin(Family) { p.m = MatchConnmark{} }

func (p *connmarkMatchParser) option(o *optionCall) (err error) {
	p.m.Value, p.m.Mask, err = parseMark(o, "connmark")
	p.m.Invert = o.invert
	return err
}

func (p *connmarkMatchParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
