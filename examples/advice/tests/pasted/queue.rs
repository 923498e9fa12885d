cacheline_struct! {
    #[repr(align(64))]
    pub struct Queue {
        /// Written, and used by more than one CPU.
        group written(lines <= 2, exclusive) {
            pub is_closed: u8,
            pub name: [u8; 90],
            pub slots: [*const u8; 2],
            pub created: u64,
            pub capacity: u32,
        }
        /// Written, and used by more than one CPU.
        group written2(lines <= 1, exclusive) {
            pub pushed: u64,
            pub popped: u64,
        }
    }
    touches push {
        mut pushed, capacity, slots
    } in <= 2 lines;
    touches pop_it {
        pushed, mut popped, slots
    } in <= 2 lines;
    touches look {
        capacity, slots
    } in <= 1 lines;
    touches close {
        capacity, mut is_closed
    } in <= 2 lines;
}
