// Package question is what the questions mean that a tool declares: which of them a call has to have answered, in which words,
// what counts as an answer, and whether the call may proceed.
//
// A Set is compiled once from a tool (Compile). Its Plan is one pure function of the call's arguments and of the answers so
// far; whoever asks the questions, in answer to the call or by a task that waits, asks what the plan says. ValidateAnswer
// checks what comes back.
//
// Everything here is pure: no client, no clock, no randomness. The package must not know how questions reach a person, nor
// where they are recorded.
package question
