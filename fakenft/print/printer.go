package print

// printer lists things as text. Each of its parts prints one kind of thing and has the parts that it needs. All of them append to one
// buffer, under the same options; a part may change these for what it contains.
type printer struct {
	buffer
	Options
	values values
	order  sorter
	exprs  exprPrinter
	stmts  stmtPrinter
	tables tablePrinter
}

func newPrinter(dst []byte, o *Options) *printer {
	p := &printer{buffer: buffer{dst}}
	if o != nil {
		p.Options = *o
	}
	p.wire()
	return p
}

// wire gives the parts the buffer, the options and each other.
func (p *printer) wire() {
	b, o := &p.buffer, &p.Options
	p.values = values{buffer: b, Options: o}
	p.order = sorter{Options: o}
	p.exprs = exprPrinter{buffer: b, Options: o, values: &p.values, order: &p.order, stmts: &p.stmts}
	p.stmts = stmtPrinter{buffer: b, Options: o, values: &p.values, exprs: &p.exprs}
	p.tables = tablePrinter{buffer: b, Options: o, values: &p.values, order: &p.order, exprs: &p.exprs, stmts: &p.stmts}
}

// jsonPrinter lists the same as JSON. What JSON has no words for, and values, are printed as text first.
type jsonPrinter struct {
	printer
	values jsonValues
	exprs  jsonExprPrinter
	stmts  jsonStmtPrinter
	tables jsonTablePrinter
}

func newJSONPrinter(dst []byte, o *Options) *jsonPrinter {
	p := &jsonPrinter{printer: printer{buffer: buffer{dst}}}
	if o != nil {
		p.Options = *o
	}
	p.wire()
	text, b := &p.printer, &p.buffer
	p.values = jsonValues{buffer: b, Options: &p.Options, text: &text.values}
	p.exprs = jsonExprPrinter{buffer: b, Options: &p.Options, text: &text.values, values: &p.values, order: &p.order, stmts: &p.stmts}
	p.stmts = jsonStmtPrinter{buffer: b, Options: &p.Options, text: &text.stmts, values: &p.values, exprs: &p.exprs}
	p.tables = jsonTablePrinter{buffer: b, Options: &p.Options, order: &p.order, exprs: &p.exprs, stmts: &p.stmts}
	return p
}
