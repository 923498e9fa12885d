cacheline_struct! {
    pub struct Queue {
        /// Only read by the operations below.
        group read_mostly(lines <= 1, apart(written, written2)) {
            pub slots: [*const u8; 2],
            pub created: u64,
            pub capacity: u32,
            pub name: [u8; 20],
        }
        /// Some are written, and more than one CPU uses them.
        group written(lines <= 1, aligned, exclusive) {
            pub pushed: u64,
            pub popped: u64,
        }
        /// Some are written, and more than one CPU uses them.
        group written2(lines <= 1, aligned, exclusive) {
            pub is_closed: u8,
        }
    }
    touches push {
        mut pushed, capacity, slots
    } in <= 2 lines;
    touches pop_it {
        mut popped, pushed, slots
    } in <= 2 lines;
    touches look {
        capacity, slots
    } in <= 1 lines;
    touches close {
        mut is_closed, capacity
    } in <= 2 lines;
}
