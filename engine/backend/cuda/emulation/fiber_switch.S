// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef __x86_64__
// void athanor_emulation_switch(void** save_stack_pointer, void* load_stack_pointer): keeps what the
// System V ABI has a function keep, and returns on the other stack.
    .text
    .globl athanor_emulation_switch
    .type athanor_emulation_switch,@function
athanor_emulation_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size athanor_emulation_switch, .-athanor_emulation_switch
#endif
#ifdef __ELF__
    .section .note.GNU-stack,"",%progbits
#endif
