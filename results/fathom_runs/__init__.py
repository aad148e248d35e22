"""What the programs in results/ share: files to rows, names, words, files that are written whole."""
