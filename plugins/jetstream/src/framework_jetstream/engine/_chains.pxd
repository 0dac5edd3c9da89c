"""Chains of nodes between two threads: one side pushes, the other takes all."""

cdef extern from *:
    """
    #ifndef FRAMEWORK_JETSTREAM_CHAINS_H
    #define FRAMEWORK_JETSTREAM_CHAINS_H
    /* Nodes begin with the pointer to the next one. True: the chain was empty. */
    static inline int chain_push(void **head, void *first, void *last) {
        void *before = __atomic_load_n(head, __ATOMIC_RELAXED);
        do { *(void **)last = before; }
        while (!__atomic_compare_exchange_n(head, &before, first, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return before == 0;
    }
    /* The last one pushed comes first. */
    static inline void *chain_take(void **head) { return __atomic_exchange_n(head, 0, __ATOMIC_SEQ_CST); }
    #endif
    """
    bint chain_push(void** head, void* first, void* last) noexcept nogil
    void* chain_take(void** head) noexcept nogil
