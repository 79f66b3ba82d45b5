package expr

// Text is an expression as `nft --debug=netlink` prints it: "[ meta load l4proto => reg 1 ]".
func Text(e Expr) string { panic("soon") }
