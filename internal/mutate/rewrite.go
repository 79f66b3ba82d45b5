package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// mutant is one small change of the source.
type mutant struct {
	// name stays the same while lines move: file, function, change, text, and a number among those that are alike.
	name string
	file string
	line int
}

// rewriter writes a file anew, with all mutants of it behind switches.
type rewriter struct {
	*source
	file     string
	function string
	// dropped are mutants that do not compile.
	dropped map[string]bool
	// mutants grows; a mutant's number is its place in it plus one.
	mutants *[]mutant
	names   map[string]int
}

// rewrite returns the file with its mutants, which are appended to the rewriter's.
func (r *rewriter) rewrite() string {
	file := r.files[r.file]
	var b strings.Builder
	pos := file.FileStart
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil || skippedFunctions[function.Name.Name] {
			continue
		}
		r.function = function.Name.Name
		if function.Recv != nil {
			r.function = r.original(function.Recv.List[0].Type) + "." + r.function
		}
		b.WriteString(r.between(pos, function.Body.Pos()))
		b.WriteString(r.body(function.Type, function.Body))
		pos = function.Body.End()
	}
	b.WriteString(r.between(pos, file.FileEnd))
	return b.String()
}

// skippedFunctions only count marks, or guess how much memory to take.
var skippedFunctions = map[string]bool{"hitMarks": true, "has": true, "inputSize": true}

// body writes a function's body. Without the panic a return that is left out would not compile.
func (r *rewriter) body(kind *ast.FuncType, body *ast.BlockStmt) string {
	text := r.splice(body)
	if kind.Results == nil {
		return text
	}
	return strings.TrimSuffix(text, "}") + "\npanic(\"a mutant has left out the last return\")\n}"
}

func (r *rewriter) between(from, to token.Pos) string {
	file := r.fset.File(from)
	return string(r.text[r.file][file.Offset(from):file.Offset(to)])
}

func (r *rewriter) original(n ast.Node) string { return r.between(n.Pos(), n.End()) }

// add makes a mutant and returns the expression that says whether this process has it; "" if it was dropped.
func (r *rewriter) add(change string, n ast.Node) string {
	text := strings.Join(strings.Fields(r.original(n)), " ")
	if len(text) > 70 {
		text = text[:67] + "..."
	}
	name := fmt.Sprintf("%s %s: %s: %s", r.file, r.function, change, text)
	r.names[name]++
	if n := r.names[name]; n > 1 {
		name += fmt.Sprintf(" #%d", n)
	}
	if r.dropped[name] {
		return ""
	}
	*r.mutants = append(*r.mutants, mutant{name: name, file: r.file, line: r.fset.Position(n.Pos()).Line})
	return fmt.Sprintf("mutant.On(%d)", len(*r.mutants))
}

// splice writes a node with the mutants of what is in it.
func (r *rewriter) splice(n ast.Node) string {
	var b strings.Builder
	pos := n.Pos()
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil || child == n {
			return true
		}
		if text, ok := r.visit(child); ok {
			b.WriteString(r.between(pos, child.Pos()))
			b.WriteString(text)
			pos = child.End()
			return false
		}
		return true
	})
	b.WriteString(r.between(pos, n.End()))
	return b.String()
}

// visit writes a node that has mutants of its own, or none in it at all.
func (r *rewriter) visit(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.FuncLit:
		return r.between(n.Pos(), n.Body.Pos()) + r.body(n.Type, n.Body), true
	case *ast.GenDecl, *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.Comment, *ast.CommentGroup:
		return r.original(n), true
	case *ast.KeyValueExpr:
		return r.between(n.Pos(), n.Value.Pos()) + r.expr(n.Value), true
	case ast.Stmt:
		return r.statement(n)
	case ast.Expr:
		return r.expression(n)
	}
	return "", false
}

// expr writes an expression.
func (r *rewriter) expr(e ast.Expr) string {
	if text, ok := r.visit(e); ok {
		return text
	}
	return r.splice(e)
}

func (r *rewriter) expression(e ast.Expr) (string, bool) {
	if r.ignored(e) {
		return r.original(e), true
	}
	tv := r.info.Types[e]
	switch e := e.(type) {
	case *ast.ParenExpr:
		return "", false
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return "!" + r.expr(e.X), true
		}
	case *ast.BinaryExpr:
		return r.binary(e)
	}
	switch {
	case tv.Type == nil || tv.IsType():
		return "", false
	case tv.Value != nil:
		return r.constant(e, tv)
	case isBool(tv.Type):
		return r.negated(e, r.splice(e)), true
	}
	return "", false
}

// ignored expressions and statements are the ones of which nobody could notice a mutant: marks, the log, locks, memory.
func (r *rewriter) ignored(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	text := r.original(call.Fun)
	switch {
	case strings.HasSuffix(text, "arks.Hit"), strings.HasSuffix(text, "arks.HitIf"), strings.Contains(text, "ogger."), text == "make",
		text == "slices.Grow":
		return true
	case strings.HasSuffix(text, "ock.Lock"), strings.HasSuffix(text, "ock.Unlock"), strings.HasSuffix(text, "hitMarks"):
		return true
	case strings.HasSuffix(text, "syncing.Lock"), strings.HasSuffix(text, "syncing.Unlock"), strings.HasSuffix(text, ".Grow"):
		return true
	}
	return false
}

func isBool(t types.Type) bool {
	basic, ok := t.(*types.Basic)
	return ok && basic.Info()&types.IsBoolean != 0
}

func (r *rewriter) negated(e ast.Expr, text string) string {
	if on := r.add("negate", e); on != "" {
		return "((" + text + ") != " + on + ")"
	}
	return text
}

// bounds and exchanged are what becomes of operators.
var (
	bounds    = map[token.Token]string{token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater", token.GEQ: "GreaterEqual"}
	exchanged = map[token.Token]string{
		token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
		token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<",
	}
)

func (r *rewriter) binary(e *ast.BinaryExpr) (string, bool) {
	tv := r.info.Types[e]
	if tv.Value != nil {
		return r.original(e), true
	}
	x, y := r.expr(e.X), r.expr(e.Y)
	join := func(op string) string { return "(" + x + ") " + op + " (" + y + ")" }
	text := join(e.Op.String())
	switch e.Op {
	case token.LAND, token.LOR:
		if on := r.add("exchange "+e.Op.String(), e); on != "" {
			function := map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[e.Op]
			return "mutant." + function + "(" + on + ", " + x + ", func() bool { return " + y + " })", true
		}
		return "(" + text + ")", true
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if function, ok := bounds[e.Op]; ok {
			if on := r.add("bound "+e.Op.String(), e); on != "" {
				text = "mutant." + function + "(" + on + ", " + x + ", " + y + ")"
			}
		}
		return r.negated(e, text), true
	}
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if other := exchanged[e.Op]; ok && basic.Info()&types.IsInteger != 0 && other != "" {
		if on := r.add("exchange "+e.Op.String(), e); on != "" {
			return "mutant.Pick(" + on + ", func() " + r.typeName(tv.Type) + " { return " + join(other) + " }, func() " +
				r.typeName(tv.Type) + " { return " + text + " })", true
		}
	}
	return "(" + text + ")", true
}

// typeName spells a type as the file would.
func (r *rewriter) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == r.types {
			return ""
		}
		return p.Name()
	})
}

// constant changes booleans, and numbers where they are used. Names of kinds are none: they are not arithmetic.
func (r *rewriter) constant(e ast.Expr, tv types.TypeAndValue) (string, bool) {
	basic, _ := tv.Type.(*types.Basic)
	duration := tv.Type.String() == "time.Duration"
	switch {
	case tv.Value.Kind() == constant.Bool && basic != nil:
		if on := r.add("exchange", e); on != "" {
			return "(" + r.original(e) + " != " + on + ")", true
		}
	case tv.Value.Kind() == constant.Int && (duration || basic != nil && basic.Info()&types.IsUntyped == 0):
		changed := r.original(e) + " + 1"
		value, exact := constant.Int64Val(tv.Value)
		if duration && value != 0 {
			changed = "2 * " + r.original(e)
		} else if exact {
			changed = strconv.FormatInt(value+1, 10)
		}
		if on := r.add("number", e); on != "" {
			name := r.typeName(tv.Type)
			return fmt.Sprintf("mutant.Value[%s](%s, %s, %s)", name, on, changed, r.original(e)), true
		}
	}
	return r.original(e), true
}
