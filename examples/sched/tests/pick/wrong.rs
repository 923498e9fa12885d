//! Rules with one line wrong each.

use sched::pick::rules::Rules;

macro_rules! wrong {
    ($($name:ident: $line:ident;)*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Rules for $name {
            const $line: bool = false;
        }
    )*};
}

wrong! {
    StaleMinimum: KEEPS_SUBTREE_MINIMUM;
    EverybodyEligible: ASKS_ELIGIBILITY;
    ChargeForgetsSum: CHARGE_MOVES_SUM;
    LeavingForgetsSum: LEAVING_MOVES_SUM;
    LagNotScaled: REWEIGHT_SCALES_LAG;
    LevelForgotten: DIVIDES_AT_EVERY_LEVEL;
    StaleWeight: RENEWS_WEIGHT;
    EveryGroupNice0: GROUP_TAKES_WEIGHT;
    ThroughHCurr: CHARGES_RUNNING_TASK;
    RequeueFirst: CHARGES_BEFORE_REQUEUE;
}
