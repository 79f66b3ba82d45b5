// Package raw crafts packets that no socket sends, puts them on devices, and recognises them wherever they are seen,
// whatever was translated on the way. The backends on real kernels share it.
package raw
