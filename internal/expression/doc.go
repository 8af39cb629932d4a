// Package expression is CEL as the authors of tools may use it: conditions, messages and values over the arguments of a call.
//
// It stands between expressions that strangers wrote and processes that all tenants share. An expression is checked against the
// types that the tool's schemas promise before there is any call (Compile), and what an evaluation may cost is bounded. Numbers
// keep their value or are an error.
//
// The package is pure and knows neither questions nor Jobs, only JSON values and their schemas.
package expression
