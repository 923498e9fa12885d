//! AtomicBitmap
