//! The kernel's doubly linked lists, in its own two words: links are keys, from which `node` finds
//! the node. Zeroed words are an empty list and a node that is on none.
//!
//! A node that is removed keeps its link to the next one (`list_del_rcu`): a reader that stands on
//! it goes on.

use crate::structs::ListHead;

/// The key of the list's head. No node has it, nor 0.
const HEAD: u64 = u64::MAX;

/// The first key, if there is one.
pub(super) fn first(head: &ListHead) -> Option<u64> {
    key(head.next.get())
}

/// The key after a node, if there is one.
pub(super) fn next(node: &ListHead) -> Option<u64> {
    key(node.next.get())
}

fn key(link: u64) -> Option<u64> {
    (link != 0 && link != HEAD).then_some(link)
}

/// Whether a node is on a list.
pub(super) fn is_listed(node: &ListHead) -> bool {
    node.prev.get() != 0
}

/// Appends (`list_add_tail_rcu`).
pub(super) fn push_back<'a>(head: &'a ListHead, this: u64, node: impl Fn(u64) -> &'a ListHead) {
    let last = key(head.prev.get());
    node(this).prev.set(last.unwrap_or(HEAD));
    node(this).next.set(HEAD);
    last.map_or(head, &node).next.set(this);
    head.prev.set(this);
}

/// Removes a node that is listed (`list_del_rcu`).
pub(super) fn remove<'a>(head: &'a ListHead, this: u64, node: impl Fn(u64) -> &'a ListHead) {
    let (prev, next) = (node(this).prev.get(), node(this).next.get());
    key(prev).map_or(head, &node).next.set(next);
    key(next).map_or(head, &node).prev.set(prev);
    node(this).prev.set(0);
}

/// All keys; for checks, so a list that has a cycle ends after `most`.
pub(super) fn keys<'a>(
    head: &'a ListHead,
    most: usize,
    node: impl Fn(u64) -> &'a ListHead,
) -> Vec<u64> {
    let following = |&at: &u64| next(node(at));
    core::iter::successors(first(head), following).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_list_does_what_a_vector_does() {
        let (head, nodes) = (ListHead::default(), [const { None::<ListHead> }; 20]);
        let nodes: Vec<ListHead> = nodes.map(|_| ListHead::default()).into();
        let node = |key: u64| &nodes[key as usize - 1];
        let (mut model, mut rng) = (Vec::new(), Rng::new(1));
        for _ in 0..2000 {
            let key = rng.below(nodes.len()) as u64 + 1;
            assert_eq!(is_listed(node(key)), model.contains(&key));
            if is_listed(node(key)) {
                let after = next(node(key));
                remove(&head, key, node);
                model.retain(|&k| k != key);
                assert_eq!(next(node(key)), after, "a reader cannot go on");
            } else {
                push_back(&head, key, node);
                model.push(key);
            }
            assert_eq!(keys(&head, 99, node), model);
            assert_eq!(first(&head), model.first().copied());
        }
    }
}
