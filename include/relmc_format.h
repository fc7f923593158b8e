/*
 * relmc_format.h - where things stand in the files that librelmc writes in its own
 * formats: draws as plain numbers (.rmc) and checkpoints.  docs/formats.md explains
 * them.  Constants only; a file of another version is refused by every reader.
 */
#ifndef RELMC_FORMAT_H
#define RELMC_FORMAT_H

/* ---- draws as plain numbers, BASE_1.rmc ----------------------------------------
 * A head of RELMC_RAW_HEAD bytes, the text of a CSV file up to the names of its
 * columns, rows of warm-up, the text of what adaptation found, rows of draws, and the
 * text of the times.  Numbers are IEEE 754 doubles, the lowest byte first. */
#define RELMC_RAW_MAGIC   "relmcRW\n" /* the first 8 bytes */
#define RELMC_RAW_VERSION 1

/* Places in the head.  All but the first two are unsigned and have 8 bytes, the
 * lowest first. */
enum {
    RELMC_RAW_AT_VERSION = 8,     /* 4 bytes: RELMC_RAW_VERSION */
    RELMC_RAW_AT_COLUMNS = 12,    /* 4 bytes: numbers in a row */
    RELMC_RAW_AT_BODY = 16,       /* where the first row stands */
    RELMC_RAW_AT_WARMUP = 24,     /* rows of warm-up */
    RELMC_RAW_AT_DRAWS = 32,      /* where the draws begin; 0: none yet */
    RELMC_RAW_AT_ROWS = 40,       /* draws; all bits set: up to the end of the file */
    RELMC_RAW_AT_TEXT = 48,       /* bytes of the text in front */
    RELMC_RAW_AT_ADAPTATION = 56, /* bytes of what adaptation found */
    RELMC_RAW_HEAD = 64
};

/* ---- checkpoints ----------------------------------------------------------------
 * A head of RELMC_CHECKPOINT_HEAD bytes; the note of the caller; then what only the
 * version of librelmc that wrote it can read.  Numbers are as they are in memory. */
#define RELMC_CHECKPOINT_MAGIC   "relmcCP\n" /* the first 8 bytes */
#define RELMC_CHECKPOINT_VERSION 3
#define RELMC_CHECKPOINT_ORDER   0x01020304

/* Places in the head. */
enum {
    RELMC_CHECKPOINT_AT_ORDER = 8,    /* 4 bytes: RELMC_CHECKPOINT_ORDER */
    RELMC_CHECKPOINT_AT_VERSION = 12, /* 4 bytes */
    RELMC_CHECKPOINT_AT_LENGTH = 16,  /* 8 bytes: of the whole file */
    RELMC_CHECKPOINT_AT_HASH = 24,    /* 8 bytes: of the rest, then of the head */
    RELMC_CHECKPOINT_HEAD = 32
};

#endif
