package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// statement writes a statement that has mutants of its own.
func (r *rewriter) statement(s ast.Stmt) (string, bool) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return "", false
	case *ast.ExprStmt:
		if r.ignored(s.X) {
			return r.original(s), true
		}
		// The result is not used, so it is not negated.
		return r.leftOut(s, r.splice(s.X)), true
	case *ast.DeferStmt:
		if r.ignored(s.Call) {
			return r.original(s), true
		}
		return r.leftOut(s, "defer "+r.splice(s.Call)), true
	case *ast.AssignStmt:
		return r.assignment(s), true
	case *ast.IncDecStmt:
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok]
		if r.inHead(s) {
			return r.original(s), true
		}
		if on := r.add("exchange "+s.Tok.String(), s); on != "" {
			return "if " + on + " { " + r.original(s.X) + other + " } else { " + r.original(s) + " }", true
		}
		return r.original(s), true
	case *ast.ReturnStmt:
		return r.returned(s), true
	case *ast.BranchStmt:
		return r.branch(s), true
	case *ast.ForStmt:
		return r.loop(s, s.Body)
	case *ast.RangeStmt:
		return r.loop(s, s.Body)
	}
	return "", false
}

// leftOut puts a statement behind a switch.
func (r *rewriter) leftOut(s ast.Stmt, text string) string {
	if on := r.add("leave out", s); on != "" {
		return "if !" + on + " { " + text + " }"
	}
	return text
}

// assignment leaves what is declared in place: without it nothing would compile.
func (r *rewriter) assignment(s *ast.AssignStmt) string {
	var values []string
	for _, value := range s.Rhs {
		if len(s.Rhs) < len(s.Lhs) { // several results at once
			values = append(values, r.splice(value))
			continue
		}
		values = append(values, r.expr(value))
	}
	left := r.between(s.Pos(), s.TokPos)
	text := left + s.Tok.String() + " " + strings.Join(values, ", ")
	if s.Tok == token.DEFINE || r.inHead(s) {
		return text
	}
	if op, ok := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[s.Tok]; ok && !isText(r.info.TypeOf(s.Lhs[0])) {
		if on := r.add("exchange "+s.Tok.String(), s); on != "" {
			text = "if " + on + " { " + left + op + " " + strings.Join(values, ", ") + " } else { " + text + " }"
		}
	}
	return r.leftOut(s, text)
}

// isText says whether a type is one of strings, which have no difference.
func isText(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// inHead says whether the statement stands in the head of an if, for or switch, where only simple statements may.
func (r *rewriter) inHead(s ast.Stmt) bool {
	head := false
	ast.Inspect(r.files[r.file], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			head = head || n.Init == s
		case *ast.ForStmt:
			head = head || n.Init == s || n.Post == s
		case *ast.SwitchStmt:
			head = head || n.Init == s
		}
		return !head
	})
	return head
}

// returned leaves out a return that is not the function's last statement, and turns a last result that may be nil to nil.
func (r *rewriter) returned(s *ast.ReturnStmt) string {
	text := r.splice(s)
	if n := len(s.Results); n > 0 && r.nilable(s.Results[n-1]) {
		if on := r.add("return nil", s); on != "" {
			other := "return "
			for _, result := range s.Results[:n-1] {
				other += r.original(result) + ", "
			}
			text = "if " + on + " { " + other + "nil }; " + text
		}
	}
	if r.lastOfFunction(s) {
		return text
	}
	if on := r.add("leave out", s); on != "" {
		return "if !" + on + " { " + text + " }"
	}
	return text
}

// nilable says whether nil could be returned in the place of the expression, and is not.
func (r *rewriter) nilable(e ast.Expr) bool {
	tv := r.info.Types[e]
	if tv.Type == nil || tv.IsNil() {
		return false
	}
	switch tv.Type.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Signature:
		return true
	}
	return false
}

func (r *rewriter) lastOfFunction(s *ast.ReturnStmt) bool {
	last := false
	ast.Inspect(r.files[r.file], func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
		case *ast.FuncLit:
			body = n.Body
		}
		if body != nil && len(body.List) > 0 && body.List[len(body.List)-1] == ast.Stmt(s) {
			last = true
		}
		return !last
	})
	return last
}

func (r *rewriter) branch(s *ast.BranchStmt) string {
	other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[s.Tok]
	if other == "" || s.Label != nil {
		return r.original(s)
	}
	text := r.original(s)
	if on := r.add("exchange", s); on != "" {
		return "if " + on + " { " + other + " }; " + text
	}
	return text
}

// loop has a mutant that is left before the first round.
func (r *rewriter) loop(s ast.Stmt, body *ast.BlockStmt) (string, bool) {
	head := r.head(s, body)
	text := r.splice(body)
	short := &ast.BadExpr{From: s.Pos(), To: body.Pos()}
	if on := r.add("not run", short); on != "" {
		text = "{ if " + on + " { break }; " + strings.TrimPrefix(text, "{")
	}
	return head + text, true
}

// head writes what stands before the body of a loop.
func (r *rewriter) head(s ast.Stmt, body *ast.BlockStmt) string {
	switch s := s.(type) {
	case *ast.ForStmt:
		if s.Cond == nil {
			return r.between(s.Pos(), body.Pos())
		}
		return r.between(s.Pos(), s.Cond.Pos()) + r.expr(s.Cond) + r.between(s.Cond.End(), body.Pos())
	case *ast.RangeStmt:
		return r.between(s.Pos(), s.X.Pos()) + r.expr(s.X) + r.between(s.X.End(), body.Pos())
	}
	return ""
}
