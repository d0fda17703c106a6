from tools.kit.build import main

raise SystemExit(main())
